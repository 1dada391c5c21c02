// Fails when src/lib/api/schema.ts is not what backend/api/openapi.yaml says.
import { execFileSync } from 'node:child_process';
import { readFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as prettier from 'prettier';

const root = new URL('..', import.meta.url).pathname;
const committed = join(root, 'src/lib/api/schema.ts');
const folder = mkdtempSync(join(tmpdir(), 'forevervm-types-'));
try {
  const fresh = join(folder, 'schema.ts');
  execFileSync(
    join(root, 'node_modules/.bin/openapi-typescript'),
    ['../backend/api/openapi.yaml', '-o', fresh],
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const options = { ...(await prettier.resolveConfig(committed)), filepath: committed };
  const wanted = await prettier.format(readFileSync(fresh, 'utf8'), options);
  if (wanted !== readFileSync(committed, 'utf8')) {
    console.error(
      'src/lib/api/schema.ts does not match backend/api/openapi.yaml. Run: npm run types',
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
