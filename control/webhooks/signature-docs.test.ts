import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot } from '../../media/base/project-root.js'
import { webhookHeaders } from './signature.js'

const page = readFileSync(join(projectRoot, 'docs', 'webhooks.md'), 'utf8')

type Verify = (
  headers: Readonly<Record<string, string>>,
  body: string,
  secret: string,
  now?: number,
) => boolean

/** The verification example of the documentation, run as it is printed. */
async function example(): Promise<Verify> {
  const code = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? ''
  const module: unknown = await import(`data:text/javascript,${encodeURIComponent(code)}`)
  return (module as { verifyWebhook: Verify }).verifyWebhook
}

t.test('the documented example accepts what is sent and nothing else', async (t) => {
  const verify = await example()
  const stamp = { type: 'call.answered', eventId: 'evt_1', attempt: 1, at: 1_700_000_000 }
  const body = '{"name":"आशा"}'
  const headers = webhookHeaders(body, ['whsec_new', 'whsec_old'], stamp)
  t.equal(verify(headers, body, 'whsec_new', stamp.at), true)
  t.equal(verify(headers, body, 'whsec_old', stamp.at + 300), true, 'during a roll')
  t.equal(verify(headers, body, 'whsec_other', stamp.at), false)
  t.equal(verify(headers, `${body} `, 'whsec_new', stamp.at), false)
  t.equal(verify(headers, body, 'whsec_new', stamp.at + 301), false, 'too old')
  t.equal(verify({ ...headers, 'x-svc-timestamp': '1700000001' }, body, 'whsec_new', stamp.at), false)
})

t.test('the documented test vector is reproduced', async (t) => {
  const cell = (name: string) => new RegExp(`\\| ${name} \\| \`(.+?)\` \\|`).exec(page)?.[1] ?? ''
  const stamp = { type: '', eventId: '', attempt: 1, at: Number(cell('timestamp')) }
  t.equal(webhookHeaders(cell('body'), [cell('secret')], stamp)['x-svc-signature'], cell('signature'))
})
