"""vLLM's part of the stand-in: its flags, refusals, pages and ends."""
