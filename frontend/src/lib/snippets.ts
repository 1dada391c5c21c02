export interface Snippet {
  readonly name: string;
  readonly code: string;
}

/**
 * How programs speak to a machine. The token is read from the environment: it belongs into no
 * program.
 */
export function snippets(address: string, machine: string): readonly [Snippet, ...Snippet[]] {
  return [
    {
      name: 'Python',
      code: `# pip install forevervm-sdk
# export FOREVERVM_TOKEN=$(forevervm token)
import os
from forevervm_sdk import ForeverVM

fvm = ForeverVM(token=os.environ["FOREVERVM_TOKEN"],
                base_url="${address}")
with fvm.repl("${machine}") as repl:
    print(repl.exec("1 + 1").result["value"])
`,
    },
    {
      name: 'JavaScript',
      code: `// npm install @forevervm/sdk
// export FOREVERVM_TOKEN=$(forevervm token)
import { ForeverVM } from '@forevervm/sdk';

const fvm = new ForeverVM({
  token: process.env.FOREVERVM_TOKEN,
  baseUrl: '${address}',
});
const repl = fvm.repl('${machine}');
console.log((await repl.exec('1 + 1').result).value);
`,
    },
    {
      name: 'Command line',
      code: `forevervm exec ${machine} '1 + 1'
forevervm repl ${machine}
`,
    },
    {
      name: 'HTTP',
      code: `curl ${address}/v1/machine/${machine}/exec \\
  -H "Authorization: Bearer $(forevervm token)" \\
  -d '{"instruction": {"code": "1 + 1"}}'
`,
    },
  ];
}
