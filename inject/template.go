package inject

// Template is a binding that is kept with a secret: without Env and Secret,
// which whoever uses it fills in. JSON is decoded as strictly as a Binding's.
type Template Binding

// UnmarshalJSON decodes the shape; [Template.Bind] and [Compile] check the rest.
func (t *Template) UnmarshalJSON(data []byte) error {
	fields, err := (*Binding)(t).decode(data)
	if err != nil {
		return err
	}
	for _, key := range [...]string{"env", "secret"} {
		if *fields[key].(*string) != "" {
			return &BindingError{key, "not part of what is kept with a secret"}
		}
	}
	return require(fields, "host")
}

// Bind returns the binding of a variable to a secret.
func (t Template) Bind(env, secret string) Binding {
	b := Binding(t)
	b.Env, b.Secret = env, secret
	return b
}
