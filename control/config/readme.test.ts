import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../media/base/project-root.js'
import { VARIABLES } from './settings.js'

/* The README is checked against what it describes, so that it stays true. */

const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8')

t.test('the settings table is the one of parley --help', (t) => {
  const rows = VARIABLES.map((variable) => {
    const byDefault = variable.default === '' ? '' : `\`${variable.default}\``
    return `| \`${variable.name}\` | ${byDefault} | ${variable.description} |`
  })
  const expected = ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n')
  const section = /<!-- settings -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(readme)?.[1]
  t.equal(section, expected)
  t.end()
})

t.test('every dependency has its reason', (t) => {
  const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'))
  const table = /## Dependencies\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? ''
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
    if (name.startsWith('@types/')) continue
    t.match(table, name, `${name} stands in the table`)
  }
  t.end()
})
