"""``python -m geolap`` is the command line."""

from .cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
