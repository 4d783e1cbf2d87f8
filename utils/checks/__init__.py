"""One module per lesson: its exercises, with oracles, cases, misconceptions and hints. Only the registry imports
them."""
