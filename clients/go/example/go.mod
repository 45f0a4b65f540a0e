module example.test/shop

go 1.22

require github.com/paydouble/paydouble/clients/go/paydoubletest v0.1.0

replace github.com/paydouble/paydouble/clients/go/paydoubletest => ../paydoubletest
