-- Verdicts of a model on single pairs, by content: a pair judged before is not asked again (J2).
-- Like model answers they outlive every generation: a rebuild finds them.

create table memory.pair_verdicts (
    tenant_id       text not null,
    pair_digest     text not null,
    verdict         text not null check (verdict in ('old', 'new', 'neither')),
    is_correction   boolean not null,
    reason          text not null,
    request_digest  text not null,
    pair_number     integer not null check (pair_number > 0),
    recorded_at     timestamptz not null default now(),
    primary key (tenant_id, pair_digest)
);
comment on column memory.pair_verdicts.pair_digest is
    'What the judge saw of the pair, with the judge''s version, prompt and model.';
comment on column memory.pair_verdicts.request_digest is
    'The request whose answer gave the verdict; the pair has this number in it.';

alter table memory.pair_verdicts enable row level security;
alter table memory.pair_verdicts force row level security;
create policy tenant_only on memory.pair_verdicts to memory_app
    using (tenant_id = (select memory.current_tenant()))
    with check (tenant_id = (select memory.current_tenant()));
grant select, insert, update on memory.pair_verdicts to memory_app;
