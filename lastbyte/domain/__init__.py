"""The words of the product as frozen dataclasses; standard library only."""
