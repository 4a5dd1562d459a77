import time
from memory_pipeline_tests.adapters.profile_walks import *
from memory_pipeline.adapters.queries import query
def test_x(database_url):
    db=Database(database_url)
    remember(db,"works at: acme; likes: tea")
    with psycopg.connect(database_url,autocommit=True) as c:
        c.execute("""insert into memory.entities (tenant_id,generation_id,entity_id,name,type,memory_category,known_from,last_linked_at)
          select tenant_id,generation_id,gen_random_uuid(),'x'||n,'ORG','context',now(),now() from memory.entities, generate_series(1,30000) n where name='tea'""")
        c.execute("""insert into memory.facts (tenant_id,generation_id,fact_id,version,subject_id,predicate,object_id,statement,valid_time,known_time,confidence,memory_category,tier,recipe_id)
          select f.tenant_id,f.generation_id,gen_random_uuid(),1,f.subject_id,'likes',e.entity_id,'user likes '||e.name,'[2024-01-01,)',tstzrange(now()-random()*interval '100 days',null),.9,'context','fast','r' from memory.facts f, memory.entities e where f.statement='user likes tea' and e.name like 'x%'""")
        c.execute("insert into memory.dirty_entities (tenant_id,generation_id,entity_id,bumps) select tenant_id,generation_id,entity_id,1 from memory.entities on conflict do nothing")
        c.execute("analyze")
    parts=make_parts(db)
    import uuid
    with db.tenant(TENANT) as c:
        from memory_pipeline.domain.plan import OBSERVER
        keys={"tenant_id":TENANT,"claim_id":uuid.uuid4(),"batch_size":64,"lease_minutes":10,"facts_k":40,"exempt":OBSERVER,"user_id":None,"after":uuid.UUID(int=0)}
        for name in ("claim_due_profiles","claimed_groundings","claim_next_profiles","last_of_next_entities"):
            t=time.time()
            for row in c.execute("explain (analyze) "+query(name),keys).fetchall(): print(next(iter(row.values())))
            print(name,time.time()-t)
    db.close()
