"""``python -m sosbands.cli``."""

from sosbands.cli import main

main()
