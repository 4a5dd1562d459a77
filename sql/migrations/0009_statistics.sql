-- What the server knows of tables that grow fast. A walk into a new database folds hundreds of
-- episodes before autovacuum looks at its tables for the first time; planned for empty tables, each
-- of their reads goes over all that the tenant holds.

-- Analyses the tables of a fold that have grown to four times what was known of them.
create function memory.analyse_grown() returns void language plpgsql security definer
    set search_path = memory, pg_temp as $$
declare
    grown regclass;
begin
    for grown in
        select c.oid from pg_class c
        where c.relnamespace = 'memory'::regnamespace and c.relkind = 'r'
            and c.relname in ('facts', 'entities', 'entity_aliases', 'fact_evidence', 'folds')
            and pg_relation_size(c.oid) / current_setting('block_size')::integer
                > 4 * greatest(c.relpages, 2)
    loop
        execute format('analyze (skip_locked) %s', grown);
    end loop;
end
$$;
comment on function memory.analyse_grown is
    'Runs as the owner, who alone may analyse; tells and changes nothing of any tenant.';
revoke all on function memory.analyse_grown from public;
grant execute on function memory.analyse_grown to memory_app;
