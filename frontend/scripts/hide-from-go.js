// Some npm packages carry Go files. A go.mod of its own keeps node_modules out of the Go module's
// `./...`.
import { writeFileSync } from 'node:fs';

writeFileSync(new URL('../node_modules/go.mod', import.meta.url), 'module node_modules\n');
