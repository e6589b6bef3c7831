package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"
)

func TestExportedNamesAreDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{} // folders whose package has a doc comment
	folders := map[string]bool{}
	for name, text := range files(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folders[path.Dir(name)] = true
		if generated(text) {
			continue // what it is made of has the comments
		}
		if file.Doc != nil {
			documented[path.Dir(name)] = true
		}
		for _, decl := range file.Decls {
			for _, exported := range bare(decl) {
				t.Errorf("%s: %s has no comment", name, exported)
			}
		}
	}
	for folder := range folders {
		if !documented[folder] {
			t.Errorf("%s: the package has no comment", folder)
		}
	}
}

// bare returns the exported types and functions of a declaration that have no
// comment of their own. Methods are judged with the interface they serve, and
// constants with their type.
func bare(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() && d.Doc == nil {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
				names = append(names, s.Name.Name)
			}
		}
		return names
	}
	return nil
}
