import { z } from 'zod'
import type { CodecName } from '../../media/codec/codec.js'
import { isCodecName } from '../../media/codec/registry.js'
import type { Gateway, InboundTrunk, OutboundTrunk } from '../../signalling/call/ports.js'
import { G711_CODECS } from '../../signalling/sdp/sdp-session.js'
import { type Cidr, parseCidr } from '../../signalling/trunk/cidr.js'
import type { Credentials } from '../../signalling/trunk/digest-client.js'
import type { RegistrationTarget } from '../../signalling/trunk/registration.js'
import type { TrunkLimits } from '../../signalling/trunk/trunk-limiter.js'
import type { ProbeTarget } from '../../signalling/trunk/trunk-probe.js'
import type { RootKey } from '../base/root-key.js'
import type { SipTrunkRow } from '../db/tables/trunks.js'
import { contactsOf } from './contacts.js'
import { unsealPassword } from './trunk-passwords.js'

/*
 * Converts a stored trunk to the types of the signalling layer.
 */

const Strings = z.array(z.string())
const StringMap = z.record(z.string(), z.string())

/** Returns the codecs of a trunk, best first. Unknown codecs are ignored. */
export function codecsOf(trunk: SipTrunkRow): readonly CodecName[] {
  const codecs = Strings.parse(JSON.parse(trunk.codecs)).filter(isCodecName)
  return codecs.length > 0 ? codecs : G711_CODECS
}

/** Returns the additional headers of every INVITE. */
export function headersOf(trunk: SipTrunkRow): Record<string, string> {
  return StringMap.parse(JSON.parse(trunk.customHeaders))
}

export function rangesOf(trunk: SipTrunkRow): Cidr[] {
  return Strings.parse(JSON.parse(trunk.ipAcl)).flatMap((text) => parseCidr(text) ?? [])
}

/** Returns the ranges of `rangesOf` that do not identify the trunk yet. */
export function pendingOf(trunk: SipTrunkRow): Cidr[] {
  return Strings.parse(JSON.parse(trunk.ipAclPending)).flatMap((text) => parseCidr(text) ?? [])
}

/** Returns the ranges of `rangesOf` that identify the trunk. */
export function claimedOf(trunk: SipTrunkRow): Cidr[] {
  const pending = new Set(pendingOf(trunk).map(({ text }) => text))
  return rangesOf(trunk).filter(({ text }) => !pending.has(text))
}

export function trunkLimitsOf(trunk: SipTrunkRow): TrunkLimits {
  return {
    maxConcurrent: trunk.maxConcurrent,
    callsPerMinute: trunk.callsPerMinute,
    allowedPrefixes: Strings.parse(JSON.parse(trunk.allowedPrefixes)),
  }
}

/** The place at which a trunk is called: its host, or else where its telephone system is registered first. */
type Place = Required<Pick<Gateway, 'host' | 'port' | 'transport' | 'publicOnly'>> & Pick<Gateway, 'contact'>

function placeOf(trunk: SipTrunkRow, now: number): Place | null {
  const { outboundHost: host, outboundPort: port, outboundTransport: transport } = trunk
  if (host !== null) return { host, port, transport, publicOnly: isCustomers(trunk) }
  const [contact] = contactsOf(trunk, now)
  if (contact === undefined) return null
  const { flow } = contact
  return { host: flow.address, port: flow.port, transport: flow.transport, publicOnly: false, contact }
}

/**
 * Returns the gateway of a trunk, or null when it has no outbound host and its telephone system is not registered. `now`
 * is Unix time (ms). Throws EngineError `storage_failed`.
 */
export function gatewayOf(
  trunk: SipTrunkRow,
  rootKey: RootKey,
  now: number,
): (Gateway & { trunk: OutboundTrunk }) | null {
  const place = placeOf(trunk, now)
  if (place === null) return null
  return {
    ...place,
    codecs: codecsOf(trunk),
    srtp: trunk.srtp,
    reportsAnswer: trunk.reportsAnswer === 1,
    trunk: {
      trunkId: trunk.id,
      limits: trunkLimitsOf(trunk),
      numberFormat: trunk.outboundNumberFormat,
      callerIdPolicy: trunk.callerIdPolicy,
      callerId: trunk.callerId ?? trunk.outboundAuthUsername,
      fromDomain: trunk.outboundDomain,
      headers: headersOf(trunk),
      credentials: credentialsOf(trunk, rootKey),
    },
  }
}

/** Returns the probe target of a trunk, or null without a place as in `gatewayOf`. */
export function probeTargetOf(trunk: SipTrunkRow, rootKey: RootKey, now: number): ProbeTarget | null {
  const place = placeOf(trunk, now)
  return place && { ...place, domain: trunk.outboundDomain, credentials: credentialsOf(trunk, rootKey) }
}

/** Returns whether a customer, and not the operator's file, names the host of a trunk. */
export function isCustomers({ source }: SipTrunkRow): boolean {
  return source !== 'file'
}

/** Returns the registration of a trunk, or null without a registrar or credentials. */
export function registrationOf(trunk: SipTrunkRow, rootKey: RootKey): RegistrationTarget | null {
  const { outboundHost: host, outboundPort: port, outboundTransport: transport } = trunk
  const credentials = credentialsOf(trunk, rootKey)
  if (trunk.register !== 1 || host === null || credentials === null) return null
  return {
    ...{ trunkId: trunk.id, host, port, transport, credentials },
    domain: trunk.outboundDomain,
    expires: trunk.registerSeconds,
    publicOnly: isCustomers(trunk),
  }
}

/** Returns the inbound side of a trunk, with which callers are authenticated. */
export function inboundTrunkOf(trunk: SipTrunkRow, rootKey: RootKey): InboundTrunk {
  const { id, inboundAuth, realm, digestAlgorithm, digestUsername, digestPassword } = trunk
  return {
    id,
    inboundAuth,
    ranges: rangesOf(trunk),
    realm,
    algorithm: digestAlgorithm,
    username: digestUsername,
    password: digestPassword === null ? null : unsealPassword(rootKey, id, 'inbound', digestPassword),
    limits: trunkLimitsOf(trunk),
    credentials: credentialsOf(trunk, rootKey),
  }
}

function credentialsOf(trunk: SipTrunkRow, rootKey: RootKey): Credentials | null {
  const { id, outboundAuthUsername, outboundPassword } = trunk
  if (outboundAuthUsername === null || outboundPassword === null) return null
  return {
    username: outboundAuthUsername,
    password: unsealPassword(rootKey, id, 'outbound', outboundPassword),
  }
}
