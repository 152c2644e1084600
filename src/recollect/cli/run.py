"""From arguments to an exit code: every way a command can end, in one place.

0 done · 1 it failed (store, model, a check) · 2 the request cannot be used · 130 Ctrl-C ·
141 whoever read our output went away
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from recollect.cli.app import app
from recollect.cli.output import any_locale, error_lines, error_object, talk
from recollect.errors import ConfigError, InvalidInput, NotFound, RecollectError

FAILED, UNUSABLE, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141

# Typer carries its own copy of click since 0.26 and used the package before: the base of its
# public BadParameter is the right class in both.
_Unusable: type[Exception] = next(
    c  # pyright: ignore[reportAssignmentType]
    for c in typer.BadParameter.__mro__
    if c.__name__ == "ClickException"
)


def run(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_streams()
    any_locale()
    if any(not _is_text(argument) for argument in given):
        return _unusable(given, "an argument is not UTF-8 text", "convert it, or give it on stdin")
    try:
        code = app(given, prog_name="recollect", standalone_mode=False)
        sys.stdout.flush()
    except RecollectError as error:
        _say(given, type(error).__name__, error.message, error.hint)
        return UNUSABLE if isinstance(error, InvalidInput | NotFound | ConfigError) else FAILED
    except _Unusable as error:
        return _usage(given, error)
    except typer.Abort:
        _say(given, "Aborted", "stopped before anything was changed", None)
        return FAILED
    except KeyboardInterrupt:
        return _interrupted(given)
    except BrokenPipeError:
        return _pipe_closed()
    except OSError as error:
        what = f"{str(error.filename)[:300]}: " if error.filename else ""
        _say(given, "OSError", f"{what}{error.strerror or error}", "check the path")
        return FAILED
    except SystemExit as ending:  # how typer itself ends when the pipe closed while writing
        if isinstance(ending.__context__, BrokenPipeError):
            return _pipe_closed()
        raise
    if code == INTERRUPTED:
        return _interrupted(given)
    return code if isinstance(code, int) else 0


def _open_streams() -> None:
    """Whoever starts a command may have closed some streams (`2>&-`); those read or write
    nothing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  as long as we run


def _is_text(argument: str) -> bool:
    try:
        argument.encode()
    except UnicodeEncodeError:  # bytes that the shell passed on
        return False
    return True


def _usage(given: Sequence[str], error: Exception) -> int:
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "recollect"
    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{error}\n")
        return UNUSABLE
    message = getattr(error, "message", "") or str(error)
    formatted = getattr(error, "format_message", lambda: message)()
    near = getattr(error, "possibilities", None) or ()
    if near:  # our own wording: what happened, then the way out
        return _unusable(given, message, f"did you mean {' or '.join(near)}?")
    head, _, guess = formatted.partition(" Did you mean ")
    hint = f"did you mean {guess}" if guess else f"see {where} --help"
    return _unusable(given, head, hint)


def _unusable(given: Sequence[str], message: str, hint: str) -> int:
    text = message.strip().rstrip(".")
    _say(given, "InvalidInput", text[:1].lower() + text[1:], hint)
    return UNUSABLE


def _interrupted(given: Sequence[str]) -> int:
    _say(
        given,
        "Interrupted",
        "interrupted",
        "what was reported as stored is stored; run it again for the rest",
    )
    return INTERRUPTED


def _pipe_closed() -> int:
    # `recollect export alice | head` is no error; without this the interpreter would
    # complain once more when it flushes stdout at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _say(given: Sequence[str], kind: str, message: str, hint: str | None) -> None:
    before_rest = given[: given.index("--")] if "--" in given else given
    if "--json" in before_rest:
        sys.stderr.write(error_object(kind, message, hint) + "\n")
    else:
        talk(error_lines(message, hint))
