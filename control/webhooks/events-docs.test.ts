import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../media/base/project-root.js'
import { EVENT_TYPES, EVENTS } from '../events/event-types.js'

t.test('docs/webhooks.md lists every event with the members of its data', (t) => {
  const rows = EVENT_TYPES.map((type) => {
    const { when, subjects } = EVENTS[type]
    return `| \`${type}\` | ${subjects.map((name) => `\`${name}\``).join(', ')} | ${when} |`
  })
  const expected = ['| Event | `data` | Sent when |', '|---|---|---|', ...rows].join('\n')
  const page = readFileSync(join(projectRoot, 'docs', 'webhooks.md'), 'utf8')
  t.equal(/<!-- events -->\n([\s\S]*?)\n<!-- \/events -->/.exec(page)?.[1], expected)
  t.end()
})
