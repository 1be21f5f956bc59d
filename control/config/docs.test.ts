import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../media/base/project-root.js'
import { VARIABLES } from './variables.js'

/* The documents are compared with the code that they describe. */

const pages = [
  ...readdirSync(projectRoot).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(projectRoot, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

function read(page: string): string {
  return readFileSync(join(projectRoot, page), 'utf8')
}

t.test('docs/settings.md has the settings of parley --help', (t) => {
  const rows = VARIABLES.map((variable) => {
    const byDefault = variable.default === '' ? '' : `\`${variable.default}\``
    return `| \`${variable.name}\` | ${byDefault} | ${variable.description} |`
  })
  const expected = ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n')
  const section = /<!-- settings -->\n([\s\S]*?)\n<!-- \/settings -->/.exec(read('docs/settings.md'))?.[1]
  t.equal(section, expected)
  t.end()
})

t.test('docs/dependencies.md has a reason for every package', (t) => {
  const manifest = JSON.parse(read('package.json'))
  const table = read('docs/dependencies.md')
  const packages = {
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
  }
  for (const name of Object.keys(packages)) {
    if (name.startsWith('@types/')) continue
    t.match(table, name, `${name} is in the table`)
  }
  t.end()
})

t.test('the README stays short', (t) => {
  t.ok(read('README.md').split('\n').length <= 150)
  t.end()
})

t.test('every link and every path of a document exists', (t) => {
  for (const page of pages) {
    const text = read(page)
    const links = [...text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
      .map((link) => join(dirname(page), link))
    const paths = [
      ...text.matchAll(/`((?:media|workers|signalling|control|fixtures|deploy)\/[\w./-]+)`/g),
    ].map(([, path = '']) => path)
    for (const path of [...links, ...paths]) {
      if (!existsSync(join(projectRoot, path))) t.fail(`${page} names ${path}, which does not exist`)
    }
  }
  t.end()
})
