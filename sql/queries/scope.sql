-- name: enter_tenant
-- Speak as the application, for one tenant, until the end of this transaction. What a tenant works
-- with lies in memory or on a disk without a head: reading by index costs no more than in order.
select set_config('role', 'memory_app', true), set_config('memory.tenant_id', %(tenant_id)s, true),
    set_config('random_page_cost', '1.1', true);

-- name: enter_fold
-- The same for a fold, with plans that are made once: it asks the same of few rows again and again,
-- and planning for each episode costs more than a plan for its values would save.
select set_config('role', 'memory_app', true), set_config('memory.tenant_id', %(tenant_id)s, true),
    set_config('random_page_cost', '1.1', true),
    set_config('plan_cache_mode', 'force_generic_plan', true);

-- name: enter_operator
-- Speak as the operator until the end of this transaction.
select set_config('role', 'memory_operator', true);

-- name: begin
-- Start a transaction inside a pipeline.
begin;

-- name: commit
-- End a transaction inside a pipeline.
commit;
