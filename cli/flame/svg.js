// dummy
