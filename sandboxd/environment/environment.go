package environment

import (
	"encoding/json"
	"time"

	"github.com/sallyport/sallyport/policy"
	"github.com/sallyport/sallyport/sandboxd/environment/script"
)

// An Environment is a saved definition and what the service knows about it.
type Environment struct {
	ID             string // env_ and 26 characters of Crockford's base 32
	OrganizationID string
	Definition     Definition
	// Warnings are advice about the setup script as it was saved.
	Warnings []Warning
	// SetupUpdatedAt and SetupUpdatedBy say when and by whom the setup object
	// last changed after normalisation; zero until it was set.
	SetupUpdatedAt time.Time
	SetupUpdatedBy string
	CreatedAt      time.Time
	UpdatedAt      time.Time // moves only when a save changes something
	// Revision counts effective changes from 1; it is the ETag.
	Revision int64
}

// A Definition is what authors write. The zero value of a field means that it
// was left out; Normalise fills in what a saved definition always has.
type Definition struct {
	Name                      string            // required, 1-256 code points
	Provider                  string            // required, a name of the provider list
	Description               string            // for people; no sandbox ever sees it
	Resources                 Resources         // zero: the service's default size
	WorkspaceGiB              int64             // pvc_size_gi; 0: the service's default
	Setup                     Setup             // zero: no script
	NetworkPolicy             policy.Document   // zero: no internet
	Privileged                bool              // containers inside the sandbox
	ComputerUse               bool              // a browser display
	IdleStopAfterSeconds      int64             // 0: 1800
	StoppedDeleteAfterSeconds int64             // 0: the service's default
	EnvVars                   map[string]string // plain text, readable by everyone who can see the environment
	Mounts                    []Mount           // files fetched when a sandbox starts
	Image                     string            // empty: the service's runner image
	Metadata                  json.RawMessage   // any JSON object, kept as it is; nil: none
	Steps                     []string          // build steps, run as root when an image is made
	BootSetup                 []BootStep        // command groups, run at every boot
}

// Resources size a sandbox.
type Resources struct {
	CPUMilli    int64 // thousandths of a CPU, at least 250; 0: default
	MemoryMiB   int64 // at least 1024; 0: default
	Accelerator *Accelerator
}

// Accelerator attaches an exclusive GPU.
type Accelerator struct {
	Type  string // "gpu"
	Name  string // a model that the catalogue offers
	Count int64  // 1
}

// Setup is the script that prepares an environment's image.
type Setup struct {
	Script         string // Bash, at most 64 KiB after normalisation, no NUL
	TimeoutSeconds int64  // 10-3600; 0: 600
}

// A Mount is a file that is downloaded into the workspace.
type Mount struct {
	Source string // HTTPS URL, readable by everyone who can see the environment
	Path   string // of a file, relative to /workspace
}

// A BootStep is a named group of commands run at every boot of a sandbox.
type BootStep struct {
	Name     string
	Commands []string
	Cache    *Cache // nil: nothing is kept between boots
}

// Cache keeps directories between boots.
type Cache struct {
	Key   string   // empty: the step's name
	Paths []string // absolute, below /home/user
	Files []string // whose content belongs to the key
}

// A Warning is advice about one line of a setup script. It blocks nothing.
type Warning = script.Warning

// Access is the pair of settings whose change needs a precondition.
type Access struct {
	NetworkPolicy policy.Document
	Privileged    bool
}
