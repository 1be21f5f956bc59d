import { randomBytes } from 'node:crypto'
import { systemClock } from '../../media/base/clock.js'
import type { Settings } from '../config/settings.js'
import { EVENT_TYPES } from '../events/event-types.js'
import { oneOf, parseOptions, Signals, UsageError } from './options.js'
import { forwardEvents } from './webhooks-listen.js'

/** `parley webhooks listen`: runs until SIGINT or SIGTERM and returns the exit status. */
export async function listenForWebhooks(args: readonly string[], settings: () => Settings): Promise<number> {
  const { values } = parseOptions(args, {
    forward: { type: 'string' },
    key: { type: 'string' },
    events: { type: 'string' },
    api: { type: 'string' },
    secret: { type: 'string' },
  })
  const { forward, key } = values
  if (forward === undefined || !URL.canParse(forward)) throw new UsageError('--forward must be a URL')
  if (key === undefined) throw new UsageError('--key must be an API key')
  const events = values.events?.split(',').map((type) => oneOf('--events', type, EVENT_TYPES)) ?? null
  const secret = values.secret ?? `whsec_${randomBytes(24).toString('base64url')}`
  const apiUrl = (values.api ?? ownUrl(settings())).replace(/\/$/, '')
  const say = (line: string): void => {
    process.stdout.write(`${line}\n`)
  }
  say(`Forwarding to ${forward}, signed with ${secret}`)
  const signals = new Signals()
  const stop = new AbortController()
  void signals.first.then(() => stop.abort())
  try {
    await forwardEvents({
      apiUrl,
      key,
      forward,
      events,
      secret,
      clock: systemClock,
      print: say,
      signal: stop.signal,
    })
    return 0
  } finally {
    signals.close()
  }
}

function ownUrl({ publicUrl, httpAddress, httpPort }: Settings): string {
  return publicUrl ?? `http://${httpAddress}:${httpPort}`
}
