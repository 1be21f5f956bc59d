import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../media/base/project-root.js'
import { turnTable } from '../calls/report/turn-table.js'
import { AgentConfig } from './config.js'
import { BUILT_IN_VARIABLES } from './placeholders.js'

const text = readFileSync(join(projectRoot, 'docs/agents.md'), 'utf8')

t.test('the guide names exactly the built-in variables', async (t) => {
  const table = text.slice(text.indexOf('| Variable |'), text.indexOf('An input variable'))
  t.same(
    [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name),
    [...BUILT_IN_VARIABLES],
  )
})

t.test('the guide names every preset', async (t) => {
  const presets = AgentConfig.shape.tools.unwrap().element.shape.preset.unwrap().unwrap().options
  for (const preset of presets) t.match(text, `| \`${preset}\` |`)
})

t.test('the guide explains every column of the trace', async (t) => {
  const [header = ''] = turnTable({ turns: [], usage: null }).split('\n')
  for (const column of header.trim().split(/\s+/).slice(1)) t.match(text, `\`${column}\``)
})
