import { createIceCredentials } from '../../media/rtp/ice/lite-agent.js'
import type { DtlsRemote } from '../../media/rtp/remote-description.js'
import type { LocalDtls } from '../../workers/channel/protocol.js'
import { type MediaSection, refusal, type SdpRefusal } from './sdp-parser.js'

/*
 * The description of DTLS-SRTP over ICE (RFC 8839, RFC 8842, RFC 9143) for one audio stream. Our side is lite, has one
 * candidate (two behind a NAT) and the server role. The peer's candidates are not read, because its checks show its addresses.
 */

/** The protocols of WebRTC (RFC 8827 names the first, an older one the second). */
export const DTLS_PROTOCOLS = ['UDP/TLS/RTP/SAVPF', 'UDP/TLS/RTP/SAVP'] as const

/** Priority of the first candidate: a host address, component 1 (RFC 8445 section 5.1.2). */
const PRIORITY = 2 ** 24 * 126 + 2 ** 8 * 65_535 + 255

/** Agreement with the peer about DTLS-SRTP. */
export interface DtlsAgreement {
  readonly remote: DtlsRemote
  readonly icePassword: string
  readonly mid: string | null
  readonly bundled: boolean
}

/**
 * Reads a section of the peer.
 *
 * @param kept the agreement so far, whose certificate must stay
 * @param setups the values of `a=setup` that give us the server role
 */
export function readDtls(
  section: MediaSection,
  kept: DtlsAgreement | null,
  setups: readonly string[],
): { readonly ok: true; readonly dtls: DtlsAgreement } | SdpRefusal {
  const { iceUfrag, icePassword, fingerprint, setup, mid, bundled } = section
  if (!section.rtcpMux) return refusal(488, 'a=rtcp-mux is required')
  if (iceUfrag === null || icePassword === null) return refusal(488, 'no usable a=ice-ufrag and a=ice-pwd')
  if (fingerprint === null) return refusal(488, 'no a=fingerprint with a usable hash')
  if (setup === null || !setups.includes(setup)) return refusal(488, 'a=setup leaves us no passive role')
  const known = kept?.remote.fingerprint
  if (known !== undefined && (known.hash !== fingerprint.hash || known.digest !== fingerprint.digest))
    return refusal(488, 'the certificate of a call cannot change')
  // The same credentials mean the same ICE session; others restart it, and so must ours (RFC 8445 section 9).
  const same = kept?.remote.iceUfrag === iceUfrag && kept.icePassword === icePassword
  const ice = same ? kept.remote.ice : createIceCredentials()
  return { ok: true, dtls: { remote: { ice, iceUfrag, fingerprint }, icePassword, mid, bundled } }
}

/** Returns the attributes of the session. */
export function dtlsSessionLines({ mid, bundled }: DtlsAgreement): string[] {
  return ['a=ice-lite', ...(bundled && mid !== null ? [`a=group:BUNDLE ${mid}`] : [])]
}

/** Returns the attributes of our section. */
export function dtlsLines(
  { remote, mid }: DtlsAgreement,
  { fingerprint, ssrc, cname, publicAddress = null }: LocalDtls,
  { address, port }: { readonly address: string; readonly port: number },
  setup: 'passive' | 'actpass',
): string[] {
  return [
    ...(mid === null ? [] : [`a=mid:${mid}`]),
    `a=ice-ufrag:${remote.ice.ufrag}`,
    `a=ice-pwd:${remote.ice.password}`,
    `a=fingerprint:${fingerprint.hash} ${fingerprint.digest}`,
    `a=setup:${setup}`,
    'a=rtcp-mux',
    `a=ssrc:${ssrc} cname:${cname}`,
    `a=candidate:1 1 udp ${PRIORITY} ${address} ${port} typ host`,
    // Browsers outside of a NAT reach this one only, and those inside perhaps only the other one.
    ...(publicAddress === null
      ? []
      : [`a=candidate:2 1 udp ${PRIORITY - 1} ${publicAddress} ${port} typ host`]),
    'a=end-of-candidates',
  ]
}
