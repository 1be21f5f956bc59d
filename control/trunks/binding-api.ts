import { z } from 'zod'
import { operation } from '../api/operation.js'
import { isRefusal } from '../api/problem.js'
import { idParam } from '../base/schemas.js'
import { HOST } from '../config/trunk-file.js'
import { numberView, PhoneNumber } from '../numbers/api.js'
import { bindSip, type SipTarget, unbindSip } from './number-binding.js'
import { Connection, connectionOf } from './view.js'

const NumberPath = z.object({ id: idParam('num') })
const COMMON = { tag: 'Numbers', audience: 'key', scope: 'admin', path: '/v1/numbers/:id/sip' } as const

const URI = /^sip:(\[[0-9a-f:.]+\]|[^@\s[\]:;?,/]+)(?::(\d{1,5}))?$/i

const SipBody = z.strictObject({
  sipUri: z
    .string()
    .max(270)
    .refine((uri) => parseTarget(uri) !== null, 'must be sip:host or sip:host:port')
    .optional()
    .meta({
      description:
        'Public address of your telephone system, without a user: the called number becomes the user. The default port is that of the transport. Without it your telephone system registers at `connection` with `credentials`, and calls go there.',
      examples: ['sip:pbx.example.com:5061'],
    }),
  transport: z.enum(['udp', 'tcp', 'tls']).default('tls'),
  username: z
    .string()
    .regex(/^[a-zA-Z0-9]{5,20}$/, 'must be 5 to 20 letters and digits')
    .optional()
    .meta({ description: 'User name for calls that your telephone system places. Default: a random one.' }),
})

function parseTarget(uri: string): { readonly host: string; readonly port: number | null } | null {
  const [, host = '', port] = URI.exec(uri) ?? []
  const name = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (name === '' || !HOST.test(name)) return null
  if (port === undefined) return { host: name, port: null }
  const value = Number(port)
  return value >= 1 && value <= 65_535 ? { host: name, port: value } : null
}

const setNumberSip = operation({
  ...COMMON,
  id: 'setNumberSip',
  method: 'post',
  summary: 'Route a number to your telephone system',
  description:
    'Sets `routingMode` to `byo_sip`: calls to the number are dialled at `sipUri`, or where your telephone system is registered, and bridged without an agent. Your telephone system places calls from the number at `connection` with `credentials`. The password is shown only in this response: send an `Idempotency-Key`, so that a retry returns the same one. A number that has an address gets the new one and new credentials.',
  params: NumberPath,
  body: SipBody,
  status: 200,
  result: z.object({
    number: PhoneNumber,
    connection: Connection,
    credentials: z.object({
      terminationDomain: z.string(),
      realm: z.string(),
      username: z.string(),
      password: z.string().meta({ description: 'Shown only here.' }),
    }),
  }),
  idempotent: 'accepted',
  fails: ['not_found', 'conflict'],
  run: async ({ params, body, idempotencyId, ...input }) => {
    const { sipUri = null, transport, username = null } = body
    const { host, port } = (sipUri === null ? null : parseTarget(sipUri)) ?? { host: null, port: null }
    const target: SipTarget = { sipUri, host, port: port ?? (transport === 'tls' ? 5061 : 5060), transport }
    const bound = await bindSip({ ...input, idempotencyId }, params.id, target, username)
    if (isRefusal(bound)) return bound
    const view = numberView(bound.number)
    return {
      number: view,
      connection: connectionOf(input.deps.sipGateway),
      credentials: {
        terminationDomain: view.sipTrunk?.terminationDomain ?? '',
        realm: view.sipTrunk?.terminationRealm ?? '',
        username: bound.username,
        password: bound.password,
      },
    }
  },
})

const removeNumberSip = operation({
  ...COMMON,
  id: 'removeNumberSip',
  method: 'delete',
  summary: 'Give a number back to its agent',
  description:
    'Sets `routingMode` to `svc_agent` and ends the credentials of the telephone system. The number is kept. Calls in progress continue.',
  params: NumberPath,
  status: 200,
  result: PhoneNumber,
  fails: ['not_found', 'conflict'],
  run: async ({ params, ...input }) => {
    const number = await unbindSip(input, params.id)
    return isRefusal(number) ? number : numberView(number)
  },
})

export const numberSipOperations = [setNumberSip, removeNumberSip]
