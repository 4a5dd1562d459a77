"""Checkers of the house rules that a program can check, on the text of the sources.

Belongs here: which layer may import what, sizes, where SQL, prompts and names lie; exceptions.
Does not: applying them (test_architecture), what ruff and mypy check. A checker takes a module's
path in the package and its text, and gives one line per violation.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

ENVIRONMENT = "adapters/environment.py"

_STAGE_SIDE = {"domain", "prompts", "stages"}
_MIDDLE = {"importers", "reading", "report", "adapters"}
MAY_IMPORT: dict[str, set[str]] = {
    "domain": set(),
    "prompts": {"domain"},
    "stages": {"domain", "prompts"},
    "importers": {"domain"},
    "adapters": _STAGE_SIDE,
    "reading": _STAGE_SIDE | {"adapters"},
    "report": {"domain", "reading"},
    "sample": set(),
    "defs": _STAGE_SIDE | _MIDDLE,
    "cli": _STAGE_SIDE | _MIDDLE | {"defs", "sample"},
    "definitions": {"cli", "defs", "adapters", "domain"},
    "__main__": {"cli"},
    "__init__": set(),
}
"""The layers, and which others each may import; its own it always may."""

_PLAIN = {*sys.stdlib_module_names, "pydantic"}
ONLY_OUTSIDE = {"domain": _PLAIN, "importers": _PLAIN, "sample": _PLAIN}
"""Layers that may import nothing from outside but these."""

_DRIVERS = {"psycopg", "psycopg_pool", "pgvector", "sqlalchemy", "openai", "httpx"}
_FRONTS = {"dagster", "dagster_postgres", "typer", "rich"}
NEVER_OUTSIDE = {
    "prompts": _DRIVERS | _FRONTS,
    "stages": _DRIVERS | _FRONTS,
    "adapters": _FRONTS | {"sqlalchemy"},
    "reading": _FRONTS | {"sqlalchemy"},
    "report": _DRIVERS | _FRONTS,
    "defs": {"typer", "rich", "openai"},
}
IMPORT_EXCEPTIONS = {
    ("adapters/database_urls.py", "sqlalchemy"): "spells the URL that Dagster's storage wants",
}

MAY_HOLD_SQL = {
    "adapters/embedded_postgres.py": "creates databases and asks a server about itself",
    "adapters/migrations.py": "its own bookkeeping exists before the schema does",
    "adapters/database_urls.py": "creates the database of Dagster's tables",
}

MAX_CHARTER_LINES = 5
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 40
MAX_PARAMETERS = 5
MAY_BE_LONG: dict[str, str] = {}
"""Modules that are better read as a whole, each with the reason."""
MAY_TAKE_MORE = {
    "domain/plan.py plan_changes": "pure: all that a plan depends on is in sight",
    "stages/guard.py guard": "pure: all that a verdict depends on is in sight",
    "stages/resolve.py resolve": "pure: all that a match depends on is in sight",
}
COMMAND_LINE = "cli/"
"""Options of a command are parameters of a function, and a command has as many as it needs."""

TOP_LEVEL = {
    *("pyproject.toml", "requirements.lock", "Makefile", "workspace.yaml", "dagster.yaml"),
    *("README.md", "CHANGELOG.md", "LICENSE", ".ci", ".gitignore"),
    *("memory_pipeline", "memory_pipeline_tests", "sql"),
}

_SQL = re.compile(
    r"""^\s*(
        select\b(?=.*(\bfrom\b|\(|\s\d)) | insert\s+into\s | update\s+[\w.]+\s+set\s
        | delete\s+from\s | truncate\s+(table\s+)?\w+\.?\w*\s*;?$ | with\s+\w+\s+as\s*\(
        | (create|alter|drop)\s+(temporary\s|unlogged\s|unique\s|or\s+replace\s)?
          (table|index|view|schema|database|role|function|type|extension)\s
        | (grant|revoke)\s.*\s(on|to|from)\s | copy\s.*\s(from|to)\s+std(in|out)
        | set\s+(local|role|session)\s | (listen|notify)\s+\w+\s*;?$
        | (values|call)\s*\(
    )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_PROMPT = re.compile(
    r"\b(you are an? [a-z]+ (that|who)|you will be (given|shown)|respond (only )?with|"
    r"(answer|reply|return|output) (only )?(in |as |with )?(a |the )?(valid )?json)\b",
    re.IGNORECASE,
)
_ENVIRONMENT_NAME = re.compile(r"\b(?:MEMORY|OPENAI)_[A-Z][A-Z_]*[A-Z]\b")
_PROMPT_FILE = re.compile(r"(?P<name>[a-z_]+)\.v(?P<version>[1-9]\d*)\.md")


def _layer(module: str) -> str:
    return module.partition("/")[0].removesuffix(".py")


@cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def _literals(source: str) -> tuple[tuple[int, str], ...]:
    """Line and text of every string that is not documentation."""
    nodes = list(ast.walk(_parsed(source)))
    documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return tuple(
        (node.lineno, node.value)
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documentation
    )


def _all_literals(sources: dict[str, str]) -> set[str]:
    return {text for source in sources.values() for _, text in _literals(source)}


def _imports(source: str) -> Iterator[tuple[str, int, bool]]:
    """Module, line, and whether loading the file loads it, of each import of a source."""
    yield from _imports_in(_parsed(source), is_at_load=True)


def _imports_in(node: ast.AST, is_at_load: bool) -> Iterator[tuple[str, int, bool]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from ((name.name, child.lineno, is_at_load) for name in names)
            case ast.ImportFrom(module=str(origin), level=0, names=names):
                # `from package import layer` names the layer only in the second half.
                yield from ((f"{origin}.{name.name}", child.lineno, is_at_load) for name in names)
            case ast.ImportFrom():
                yield (".", child.lineno, is_at_load)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if (
                "import_module" in ast.unparse(function)
            ):
                yield (name, child.lineno, is_at_load)
        is_deferred = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        is_typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        yield from _imports_in(child, is_at_load and not is_deferred and not is_typing)


def import_violations(module: str, source: str) -> list[str]:
    """Imports that go up or aside, that a layer may not have, or that are relative."""
    found = []
    for name, line, is_at_load in _imports(source):
        reason = _why_not_import(module, name, is_at_load)
        if reason:
            found.append(f"{module}:{line} imports {name}: {reason}")
    return found


def _why_not_import(module: str, name: str, is_at_load: bool) -> str | None:
    layer = _layer(module)
    root, _, rest = name.partition(".")
    if root == "":
        return "relative"
    if root == "memory_pipeline":
        target = rest.partition(".")[0]
        if target != layer and target not in MAY_IMPORT[layer]:
            return f"{layer} stands below or beside it"
        if (layer, target) == ("cli", "defs") and is_at_load:
            return "commands load Dagster only when they need it"
        return None
    is_foreign = layer in ONLY_OUTSIDE and root not in ONLY_OUTSIDE[layer]
    is_barred = root in NEVER_OUTSIDE.get(layer, set())
    is_excepted = (module, root) in IMPORT_EXCEPTIONS
    return f"not in {layer}" if (is_foreign or is_barred) and not is_excepted else None


def imported_roots(source: str) -> set[str]:
    """The first names of all that a source imports."""
    return {name.partition(".")[0] for name, _, _ in _imports(source)}


def sql_violations(module: str, source: str) -> list[str]:
    """Strings that are SQL statements."""
    return [
        f"{module}:{line} holds SQL: {text[:50]!r}"
        for line, text in _literals(source)
        if _SQL.match(text)
    ]


def prompt_violations(module: str, source: str) -> list[str]:
    """Strings that speak to a language model."""
    return [
        f"{module}:{line} holds a prompt: {text[:50]!r}"
        for line, text in _literals(source)
        if _PROMPT.search(text)
    ]


def charter_violations(module: str, source: str) -> list[str]:
    """A missing charter, or one that is too long to be read."""
    charter = ast.get_docstring(_parsed(source))
    if charter is None:
        return [f"{module} has no charter"]
    lines = len(charter.splitlines())
    return [f"{module} has a charter of {lines} lines"] if lines > MAX_CHARTER_LINES else []


def size_violations(module: str, source: str) -> list[str]:
    """Modules and functions that are too long, functions with too many parameters."""
    lines = len(source.splitlines())
    is_long = lines > MAX_MODULE_LINES and module not in MAY_BE_LONG
    found = [f"{module} has {lines} lines"] if is_long else []
    for node in ast.walk(_parsed(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            place = f"{module}:{node.lineno} {node.name}"
            is_free = module.startswith(COMMAND_LINE) or f"{module} {node.name}" in MAY_TAKE_MORE
            length = _code_lines(node)
            if length > MAX_FUNCTION_LINES:
                found.append(f"{place} has {length} lines")
            count = parameter_count(node)
            if count > MAX_PARAMETERS and not is_free:
                found.append(f"{place} has {count} parameters")
    return found


def _code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring: to say more must not cost room."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def parameter_count(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many arguments a function takes beside `self` or `cls`."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return sum(argument.arg not in {"self", "cls"} for argument in every)


def broad_except_violations(module: str, source: str) -> list[str]:
    """Handlers that would swallow a broken dependency or a mistake of our own."""
    found = []
    for node in ast.walk(_parsed(source)):
        match node:
            case ast.ExceptHandler(type=None):
                found.append(f"{module}:{node.lineno} catches everything")
            case ast.ExceptHandler(type=ast.expr() as caught):
                found += _broad(module, [*ast.walk(caught)])
            case ast.Call(func=function, args=args) if ast.unparse(function).endswith("suppress"):
                found += _broad(module, [*args])
    return found


def _broad(module: str, caught: Sequence[ast.AST]) -> list[str]:
    return [
        f"{module}:{each.lineno} catches Exception"
        for each in caught
        if isinstance(each, ast.Name) and each.id == "Exception"
    ]


def environment_violations(module: str, source: str, known: set[str]) -> list[str]:
    """Names of variables as values outside their one place, and unknown ones in messages.

    `known` holds the names that the one place spells.
    """
    if module == ENVIRONMENT:
        spelled = Counter(environment_names(source))
        return [f"{module} spells {name} {n} times" for name, n in spelled.items() if n > 1]
    found = []
    for line, text in _literals(source):
        if _ENVIRONMENT_NAME.fullmatch(text):
            found.append(f"{module}:{line} spells {text}: import it from the environment")
        for name in sorted(set(_ENVIRONMENT_NAME.findall(text)) - known):
            found.append(f"{module}:{line} tells of {name}, which nothing reads")
    return found


def environment_names(source: str) -> list[str]:
    """Names of variables that a source spells as values, as often as it does."""
    return [text for _, text in _literals(source) if _ENVIRONMENT_NAME.fullmatch(text)]


def query_violations(names: set[str], sources: dict[str, str]) -> list[str]:
    """Named queries that no code names, and names given to the database layer that do not exist."""
    found = [f"no code uses the query {name}" for name in sorted(names - _all_literals(sources))]
    for module, source in sources.items():
        for name, line in _used_queries(source):
            if name not in names:
                found.append(f"{module}:{line} uses the query {name}, which does not exist")
    return found


def _used_queries(source: str) -> Iterator[tuple[str, int]]:
    """Names passed to `query(name)` and to `execute(connection, name)`, which is no method."""
    for node in ast.walk(_parsed(source)):
        match node:
            case ast.Call(func=ast.Name(id="query"), args=[ast.Constant(value=str(name)), *_]):
                yield name, node.lineno
            case ast.Call(
                func=ast.Name(id="execute" | "execute_many"),
                args=[_, ast.Constant(value=str(name)), *_],
            ):
                yield name, node.lineno


def statement_violations(family: str, text: str) -> list[str]:
    """Statements without the sentence that says what they are for, and `select *`."""
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        follower = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("-- name: ") and not re.match(r"-- [A-Z].+", follower):
            found.append(f"{family}:{number + 1} has no sentence under its name")
        if re.search(r"\bselect\s+\*", line.partition("--")[0], re.IGNORECASE):
            found.append(f"{family}:{number + 1} selects *")
    return found


def prompt_file_violations(files: set[str], sources: dict[str, str]) -> list[str]:
    """Prompt files that are not `name.vN.md`, or whose newest version no code names."""
    literals = _all_literals(sources)
    found = []
    newest: dict[str, int] = {}
    for file in sorted(files):
        match = _PROMPT_FILE.fullmatch(file)
        if match is None:
            found.append(f"prompts/{file} is not named name.vN.md")
        else:
            newest[match["name"]] = max(int(match["version"]), newest.get(match["name"], 0))
    for name, version in newest.items():
        if not literals & {name, f"{name}.v{version}", f"{name}.v{version}.md"}:
            found.append(f"no code uses the prompt {name}.v{version}.md")
    return found
