import time
import psycopg
from memory_pipeline_tests.reading.histories import *
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading import lists, ledger, digest, explain
SEED = """
create temp table g as select tenant_id, generation_id, recipe_id from memory.generations limit 1;
insert into memory.threads (tenant_id, thread_id, format, title) select tenant_id, 'openai/big', 'openai', '' from g;
insert into memory.messages (tenant_id, message_id, thread_id, seq, source_id, role, is_own, text, said_at, token_count)
 select tenant_id, md5('m'||i)::uuid, 'openai/big', i, i::text, 'user', true, 'I like thing number '||i||' a lot, really, more than most of the things', '2025-01-01Z'::timestamptz + i * interval '1 minute', 10 from g, generate_series(1,100000) i;
insert into memory.episodes (tenant_id, episode_id, ordinal, thread_id, first_seq, last_seq, started_at, ended_at, message_count, own_message_count, token_count, ingest_seq, extraction_status)
 select tenant_id, md5('e'||i)::uuid, 100+i, 'openai/big', (i-1)*100+1, i*100, '2025-01-01Z'::timestamptz + i * interval '100 minute', '2025-01-01Z'::timestamptz + i * interval '100 minute', 100,100,100, 1000+i, 'done' from g, generate_series(1,1000) i;
insert into memory.folds (tenant_id, generation_id, episode_id, fold_number, status, known_at, recipe_id, counts)
 select tenant_id, generation_id, md5('e'||i)::uuid, 100+i, 'folded', '2025-01-01Z'::timestamptz + i * interval '100 minute', 'x', '{"extracted_graphs":{"candidates":100}}' from g, generate_series(1,1000) i;
insert into memory.stage_outputs (tenant_id, generation_id, episode_id, stage, input_digest, payload)
 select tenant_id, generation_id, md5('e'||i)::uuid, 'extracted_graphs','x', jsonb_build_object('instructions','[]'::jsonb,'claims', (select jsonb_agg(jsonb_build_object('ref', k, 'x', repeat('y', 300))) from generate_series(1,100) k)) from g, generate_series(1,1000) i;
insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate, object_text, statement, valid_time, known_time, confidence, memory_category, tier, opened_by, recipe_id)
 select g.tenant_id, g.generation_id, md5('f'||i)::uuid, 1, e.entity_id, 'likes', 'thing '||i, 'user likes thing '||i, tstzrange('2025-01-01Z'::timestamptz + i * interval '1 minute', null), tstzrange('2025-01-01Z'::timestamptz + i * interval '1 minute', null), 0.9, 'context','heuristics', md5('e'||((i-1)/100+1))::uuid, 'x' from g, memory.entities e, generate_series(1,100000) i where e.name = 'user';
insert into memory.fact_evidence (tenant_id, generation_id, fact_id, episode_id, claim_ref, kind, message_id, span_start, span_end, quote)
 select tenant_id, generation_id, md5('f'||i)::uuid, md5('e'||((i-1)/100+1))::uuid, 'c'||((i-1)%100+1), 'asserted', md5('m'||i)::uuid, 0, 10, 'I like thing number' from g, generate_series(1,100000) i;
insert into memory.claim_outcomes (tenant_id, generation_id, episode_id, ref, outcome, subject, predicate, object, fact_id, message_id, quote)
 select tenant_id, generation_id, md5('e'||((i-1)/100+1))::uuid, 'c'||((i-1)%100+1), 'inserted', 'user','likes','thing '||i, md5('f'||i)::uuid, md5('m'||i)::uuid, 'I like thing number' from g, generate_series(1,100000) i;
"""
def test_x(database, database_url):
    remember(database, ANN, *HISTORY)
    with psycopg.connect(database_url, autocommit=True) as c:
        for st in SEED.split(";\n"):
            if st.strip(): c.execute(st)
    def t(name, f):
        a=time.perf_counter(); r=f(); print(f"{name}: {time.perf_counter()-a:.2f}s", flush=True); return r
    from memory_pipeline.adapters.queries import query
    with psycopg.connect(database_url) as c:
        for q in ("explain_versions","explain_evidence","explain_candidates","explain_verdicts","explain_related"):
            with database.tenant(ANN) as k: t(q, lambda: k.execute(query(q), {"tenant_id": ANN, "fact_id": "00000000-0000-0000-0000-000000000000"}))
        with database.tenant(ANN) as k:
            for r in k.execute("explain analyze "+query("read_facts"), {"tenant_id": ANN, "valid_at": day("2026-01-01"), "known_at": None, "with_history": False}): print(r["QUERY PLAN"])
    for round in range(2):
        if round:
            with psycopg.connect(database_url, autocommit=True) as c: c.execute("analyze")
            print("analyzed")
        print(t("digest", lambda: digest.digest(database, ANN)))
        rows = t("facts", lambda: read_facts(database, ANN)); print(len(rows))
        from memory_pipeline.reading.scope import read
        t("facts sql", lambda: read(database, ANN, ("read_facts", {"valid_at": day("2026-01-01"), "known_at": None, "with_history": False})))
        t("known", lambda: read_facts(database, ANN, known_at=day("2025-01-02")))
        t("history", lambda: read_facts(database, ANN, with_history=True))
        t("entities", lambda: lists.read_entities(database, ANN))
        print(t("ledger", lambda: ledger.read_ledger(database, ANN)))
        t("find", lambda: explain.find_fact(database, str(rows[5].fact_id)))
        t("explain", lambda: explain.explain(database, ANN, rows[5].fact_id))
        t("why_not", lambda: explain.why_not(database, ANN, "number 4711"))
        print(t("why_not", lambda: explain.why_not(database, ANN, "nothing to see here")))
