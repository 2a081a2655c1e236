module versus

go 1.22
