-- name: enter_tenant
-- Speak as the application, for one tenant, until the end of this transaction.
select set_config('role', 'memory_app', true), set_config('memory.tenant_id', %(tenant_id)s, true);

-- name: enter_operator
-- Speak as the operator until the end of this transaction.
select set_config('role', 'memory_operator', true);

-- name: begin
-- Start a transaction inside a pipeline.
begin;

-- name: commit
-- End a transaction inside a pipeline.
commit;
