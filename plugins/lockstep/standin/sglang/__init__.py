"""SGLang's part of the stand-in: its flags, refusals, pages and ends, as its sources of 0.5.23 say."""
