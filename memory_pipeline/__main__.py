"""`python -m memory_pipeline` is the console script. Nothing else belongs here."""

from memory_pipeline.cli import main

if __name__ == "__main__":
    main()
