module github.com/paydouble/paydouble/clients/go/paydoubletest

go 1.22
