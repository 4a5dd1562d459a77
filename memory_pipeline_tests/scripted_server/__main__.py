"""The scripted model server as a command; its first line of output is the base URL.

Belongs here: arguments. Does not: the server.
"""

import argparse
import signal
import threading
from pathlib import Path

from memory_pipeline_tests.scripted_server.answers import Scripted, nothing_found
from memory_pipeline_tests.scripted_server.expected_answers import ExpectedAnswers
from memory_pipeline_tests.scripted_server.faults import Fault, FaultKind
from memory_pipeline_tests.scripted_server.server import ScriptedServer

_EPILOG = """\
example:
  python -m memory_pipeline_tests.scripted_server --port 8123 --answers expected.json &
  export OPENAI_BASE_URL=http://127.0.0.1:8123/v1 MEMORY_FAST_MODEL=scripted-fast

faults: KIND, KIND:TIMES or KIND:TIMES:SECONDS with TIMES a number or `all`; kinds are
  """ + ", ".join(FaultKind)


def _fault(text: str) -> Fault:
    kind, _, rest = text.partition(":")
    times, _, seconds = rest.partition(":")
    try:
        return Fault(
            kind=FaultKind(kind),
            times=None if times == "all" else int(times or 1),
            seconds=float(seconds or 1.0),
        )
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m memory_pipeline_tests.scripted_server",
        description="An OpenAI-compatible model server on loopback that answers from a script.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--port", type=int, default=0, help="0 picks a free one (default)")
    add("--answers", type=Path, metavar="FILE", help="expected.json; else nothing is ever found")
    add("--history", type=Path, metavar="FILE", help="default: history.jsonl beside --answers")
    add("--latency-ms", type=float, default=0.0, help="passes before each reply")
    add("--width", type=int, default=384, help="native length of embeddings")
    add("--refuse", action="append", default=[], metavar="NAME",
        help="answer 400 to json_schema, json_object or a parameter; repeatable")  # fmt: skip
    add("--fault", action="append", default=[], type=_fault, metavar="KIND[:TIMES[:SECONDS]]",
        help="for the next requests; repeatable")  # fmt: skip
    add("--in-turn", action="append", default=[], type=_fault, metavar="KIND[:1[:SECONDS]]",
        help="go round these for ever; repeatable")  # fmt: skip
    add("--log", type=Path, metavar="FILE", help="one JSON line for each request")
    return parser


def _answers(arguments: argparse.Namespace) -> Scripted:
    if arguments.answers is None:
        return nothing_found
    history = arguments.history or arguments.answers.with_name("history.jsonl")
    return ExpectedAnswers(arguments.answers, history)


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    arguments = _parser().parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server = ScriptedServer(
        _answers(arguments),
        latency_s=arguments.latency_ms / 1_000,
        faults=arguments.fault,
        in_turn=arguments.in_turn,
        refuses=arguments.refuse,
        width=arguments.width,
        port=arguments.port,
        log_file=arguments.log,
    )
    with server:
        print(server.base_url, flush=True)
        stop.wait()


if __name__ == "__main__":
    main()
