"""`python -m cranfield`."""

from cranfield.cli import main

if __name__ == "__main__":
    main()
