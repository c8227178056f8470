"""`python -m qe_tui` is `qe`."""

from qe_tui.cli import main

if __name__ == "__main__":
    main(prog_name="qe")
