"""An OpenAI-compatible model server that answers from a script, over real HTTP.

For tests (`ScriptedServer`) and, started with `python -m`, to try the product without a provider.
Belongs here: the protocol, faults, scripted answers. Does not: any rule of the product.
"""

from memory_pipeline_tests.scripted_server.answers import Asked, Scripted, nothing_found
from memory_pipeline_tests.scripted_server.faults import Fault, FaultKind
from memory_pipeline_tests.scripted_server.server import LoggedRequest, ScriptedServer

__all__ = [
    "Asked",
    "Fault",
    "FaultKind",
    "LoggedRequest",
    "Scripted",
    "ScriptedServer",
    "nothing_found",
]
