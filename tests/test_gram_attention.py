RIGHT = {}
