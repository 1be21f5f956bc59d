import { z } from 'zod'
import type { SipGateway } from '../api/deps.js'
import { openEnum, Timestamp, timestamp, timestampOrNull } from '../base/schemas.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { contactsOf } from './contacts.js'
import { codecsOf, headersOf, pendingOf, rangesOf } from './trunk-route.js'

/** Address to which the customer's telephone system connects, the same for every trunk. */
export const Connection = z.object({
  host: z.string(),
  ips: z.array(z.string()).meta({ description: 'Public addresses of the service.' }),
  port: z.int(),
  transport: openEnum('tls', 'tcp', 'udp'),
})

const Probe = z.object({
  at: Timestamp,
  ok: z.boolean(),
  method: openEnum('options', 'register'),
  sipStatus: z.int().nullable().meta({ description: 'SIP status of the answer. Null without an answer.' }),
  latencyMs: z.int().nullable(),
  error: z.string().nullable(),
})

/** A probe as it is stored: `at` is Unix time (ms). */
const StoredProbe = z.object({ ...Probe.shape, at: z.int() })

const Contact = z.object({
  uri: z.string(),
  transport: openEnum('tls', 'tcp', 'udp'),
  address: z.string().meta({ description: 'Source of the REGISTER, where calls go.' }),
  port: z.int(),
  registeredAt: Timestamp,
  expiresAt: Timestamp,
})

export const SipTrunk = z.object({
  id: z.string(),
  name: z.string(),
  status: openEnum('pending_verification', 'active', 'disabled'),
  disabledReason: z.string().nullable(),
  approvedAt: Timestamp.nullable(),
  allowOrigination: z.boolean(),
  originationBudgetPaise: z.int().nullable().meta({
    description:
      'What your telephone system may spend a day (IST) with each number it shows. Null is no limit.',
  }),
  callerIdPolicy: openEnum('did', 'trunk_default'),
  codecs: z.array(z.string()),
  connection: Connection,
  contacts: z.array(Contact).meta({
    description:
      'Where your telephone system is registered at `connection`, the one that is called first when `outboundHost` is null.',
  }),
  customHeaders: z.record(z.string(), z.string()),
  digestUsername: z.string().nullable(),
  realm: z.string(),
  hasOutboundPassword: z.boolean(),
  inboundAuth: openEnum('ip_acl', 'digest', 'both'),
  ipAcl: z.array(z.string()),
  ipAclPending: z.array(z.string()).meta({
    description:
      'Those of `ipAcl` that do not identify your telephone system yet. They wait for the operator; until then a call from there is asked for the user name and the password of the trunk, and its address counts from then on.',
  }),
  lastInboundAt: Timestamp.nullable(),
  lastOutboundAt: Timestamp.nullable(),
  lastProbe: Probe.nullable(),
  maxConcurrent: z.int(),
  outboundAuthUsername: z.string().nullable(),
  outboundHost: z.string().nullable(),
  outboundPort: z.int().meta({ description: '0 means that DNS determines the port.' }),
  outboundTransport: openEnum('tls', 'tcp', 'udp'),
  outboundNumberFormat: openEnum('e164', 'national', 'national0'),
  register: z.boolean(),
  source: openEnum('api', 'file', 'number').meta({
    description:
      'A trunk of the operator’s trunk file (file) can be read and tested here, but not changed. `number`: made by `POST /v1/numbers/{id}/sip`.',
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

/** A trunk with its new password. */
export const TrunkWithCredentials = z.object({
  connection: z.object({
    ...Connection.shape,
    realm: z.string(),
    username: z.string(),
    password: z.string().meta({ description: 'Shown only here.' }),
  }),
  trunk: SipTrunk,
})

/** Returns the API view of a trunk at `now`, Unix time (ms). */
export function trunkView(row: SipTrunkRow, gateway: SipGateway, now: number): z.input<typeof SipTrunk> {
  const probe = row.lastProbe === null ? null : StoredProbe.parse(JSON.parse(row.lastProbe))
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    disabledReason: row.disabledReason,
    approvedAt: timestampOrNull(row.approvedAt),
    allowOrigination: row.allowOrigination === 1,
    originationBudgetPaise: row.originationBudgetPaise,
    callerIdPolicy: row.callerIdPolicy,
    codecs: [...codecsOf(row)],
    connection: connectionOf(gateway),
    contacts: contactsOf(row, now).map(({ uri, flow, registeredAt, expiresAt }) => ({
      ...{ uri, transport: flow.transport, address: flow.address, port: flow.port },
      registeredAt: timestamp(registeredAt),
      expiresAt: timestamp(expiresAt),
    })),
    customHeaders: headersOf(row),
    digestUsername: row.digestUsername,
    realm: row.realm,
    hasOutboundPassword: row.outboundPassword !== null,
    inboundAuth: row.inboundAuth,
    ipAcl: rangesOf(row).map(({ text }) => text),
    ipAclPending: pendingOf(row).map(({ text }) => text),
    lastInboundAt: timestampOrNull(row.lastInboundAt),
    lastOutboundAt: timestampOrNull(row.lastOutboundAt),
    lastProbe: probe === null ? null : { ...probe, at: timestamp(probe.at) },
    maxConcurrent: row.maxConcurrent,
    outboundAuthUsername: row.outboundAuthUsername,
    outboundHost: row.outboundHost,
    outboundPort: row.outboundPort,
    outboundTransport: row.outboundTransport,
    outboundNumberFormat: row.outboundNumberFormat,
    register: row.register === 1,
    source: row.source,
    createdAt: timestamp(row.createdAt),
    updatedAt: timestamp(row.updatedAt),
  }
}

/** Returns a trunk with its password, for the response that shows it. */
export function trunkWithCredentials(
  row: SipTrunkRow,
  password: string,
  gateway: SipGateway,
  now: number,
): z.input<typeof TrunkWithCredentials> {
  const { realm, digestUsername } = row
  return {
    connection: { ...connectionOf(gateway), realm, username: digestUsername ?? '', password },
    trunk: trunkView(row, gateway, now),
  }
}

export const connectionOf = ({ host, ips, port, transport }: SipGateway) => ({
  host,
  ips: [...ips],
  port,
  transport,
})
