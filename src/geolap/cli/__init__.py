"""The command line: ``geolap select FILE`` and its companions.  Nothing heavy is loaded before a command begins its work."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(f"The command line needs {error.name}, which is not installed: pip install 'geolap[cli]'.", file=sys.stderr)
        sys.exit(2)
    from .commands import app
    from .running import on_interrupt

    with on_interrupt():
        app(prog_name="geolap")
