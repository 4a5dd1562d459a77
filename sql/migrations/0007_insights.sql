-- What every search for insights was proposed and what became of it: the account of insights.

create table memory.insight_runs (
    tenant_id       text not null,
    generation_id   uuid not null,
    run_at          timestamptz not null,
    request_digest  text,
    facts           integer not null,
    outcomes        jsonb not null default '[]',
    primary key (tenant_id, generation_id, run_at),
    foreign key (tenant_id, generation_id) references memory.generations
);
comment on column memory.insight_runs.outcomes is
    'Each proposal with its end: inserted, claimed before, close to another, or why it was refused.';
alter table memory.insight_runs enable row level security;
alter table memory.insight_runs force row level security;
create policy tenant_only on memory.insight_runs to memory_app
    using (tenant_id = (select memory.current_tenant()))
    with check (tenant_id = (select memory.current_tenant()));
grant select, insert on memory.insight_runs to memory_app;
create index facts_insights on memory.facts (tenant_id, generation_id)
    where predicate = 'observes' and object_id is null and object_text is null;
