: no scale yet
