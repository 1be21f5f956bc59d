import { constants, createHash, type KeyLike, randomBytes, verify, X509Certificate } from 'node:crypto'
import { errorText } from '../../../media/base/errors.js'
import {
  DER,
  type DerElement,
  der,
  derOid,
  derUnsigned,
  expectTag,
  membersOf,
  oidOf,
  readDer,
  timeOf,
} from '../../base/der.js'

/*
 * Time stamps (RFC 3161): requests, replies, and the verification of tokens (CMS, RFC 5652). It needs no other code of
 * the service.
 */

const OID = {
  signedData: '1.2.840.113549.1.7.2',
  timeStampInfo: '1.2.840.113549.1.9.16.1.4',
  contentType: '1.2.840.113549.1.9.3',
  messageDigest: '1.2.840.113549.1.9.4',
  /** RFC 2634: names the signer's certificate by SHA-1. */
  signingCertificate: '1.2.840.113549.1.9.16.2.12',
  /** RFC 5035: names it by another hash. */
  signingCertificateV2: '1.2.840.113549.1.9.16.2.47',
  pss: '1.2.840.113549.1.1.10',
  sha256: '2.16.840.1.101.3.4.2.1',
} as const

const HASHES: Readonly<Record<string, string>> = {
  [OID.sha256]: 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
}
/** Signature algorithms that name their hash: ECDSA (RFC 5758). Others use the hash of the signed attributes. */
const HASH_OF_SIGNATURE: Readonly<Record<string, string>> = {
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
}
/** Extended key usage `timeStamping` (RFC 5280). */
const TIME_STAMPING = '1.3.6.1.5.5.7.3.8'
const MAX_CERTIFICATES = 10

/** Fault of a reply or a token. The message is a full sentence. */
export class TimeStampError extends Error {
  override readonly name = 'TimeStampError'
}

export interface TimeStamp {
  /** Time that the authority states (Unix ms). */
  readonly at: number
  /** Subject of the certificate that signed, in one line. */
  readonly authority: string
}

/** Maximum difference between the clocks of the service and of an authority (ms). */
export const CLOCK_TOLERANCE_MS = 300_000

/**
 * Returns the problem with the time of a stamp over a record that was sealed at `sealedAt` (Unix ms), or null. A
 * record cannot be younger than the stamp that covers it.
 */
export function stampTimeProblem(seq: number, sealedAt: number, stampedAt: number): string | null {
  return stampedAt < sealedAt - CLOCK_TOLERANCE_MS
    ? `Record ${seq} says that it was sealed after the time stamp that covers it.`
    : null
}

/** Makes a request for a token over a SHA-256 hash (hex). The reply repeats the nonce. */
export function timeStampQuery(hash: string): { readonly query: Buffer; readonly nonce: Buffer } {
  const nonce = derUnsigned(randomBytes(8))
  const imprint = der(
    DER.sequence,
    der(DER.sequence, derOid(OID.sha256), der(DER.null)),
    der(DER.octets, Buffer.from(hash, 'hex')),
  )
  const version = derUnsigned(Buffer.from([1]))
  // The last member asks for the certificate of the signer. The token cannot be verified without it.
  const query = der(DER.sequence, version, imprint, nonce, der(DER.boolean, Buffer.from([0xff])))
  return { query, nonce }
}

/**
 * Returns the token of a reply, which was verified: granted, for this hash and nonce, and well signed. Throws
 * TimeStampError.
 */
export function tokenOfReply(
  reply: Buffer,
  asked: { readonly hash: string; readonly nonce: Buffer },
  authorities: readonly X509Certificate[] | null,
): { readonly token: Buffer; readonly stamp: TimeStamp } {
  return refusing(() => {
    const [info, token] = membersOf(expectTag(readDer(reply), DER.sequence))
    const [status, text] = membersOf(expectTag(info, DER.sequence))
    const code = expectTag(status, DER.integer).content.toString('hex')
    // 0 is granted; 1 is granted with modifications, which the checks below judge.
    if ((code !== '00' && code !== '01') || token === undefined) {
      const reason = text?.tag === DER.sequence ? membersOf(text)[0]?.content.toString('utf8') : undefined
      const printable = (reason ?? '').replace(/\p{C}/gu, ' ').slice(0, 200)
      throw new TimeStampError(
        `The authority refused with status ${Number(`0x${code}`)}. ${printable}`.trim(),
      )
    }
    const { nonce } = signedInfo(token.bytes).info
    if (nonce === null || !nonce.equals(asked.nonce)) {
      throw new TimeStampError('The reply has another nonce than the request.')
    }
    return { token: token.bytes, stamp: readToken(token.bytes, asked.hash, authorities) }
  })
}

/**
 * Verifies a token over a SHA-256 hash (hex): the imprint, the signature, the certificate that the signature names and
 * its purpose and validity. With authorities, one of them must be the certificate or have issued it, perhaps through
 * other certificates of the token. Throws TimeStampError.
 */
export function verifyTimeStamp(
  token: Buffer,
  hash: string,
  authorities: readonly X509Certificate[] | null,
): TimeStamp {
  return refusing(() => readToken(token, hash, authorities))
}

function readToken(token: Buffer, hash: string, authorities: readonly X509Certificate[] | null): TimeStamp {
  const { info, content, certificates, signer } = signedInfo(token)
  if (info.hash !== OID.sha256 || info.imprint.toString('hex') !== hash) {
    throw new TimeStampError('The time stamp is of another hash.')
  }
  const certificate = verifySignature(content, certificates, signer)
  if (certificate.keyUsage?.includes(TIME_STAMPING) !== true) {
    throw new TimeStampError('The certificate of the time stamp is not one of a time stamp authority.')
  }
  if (!isValidAt(certificate, info.at)) {
    throw new TimeStampError('The certificate of the time stamp was not valid at its time.')
  }
  const authority = certificate.subject.split('\n').join(', ')
  if (authorities !== null && !isIssued(certificate, certificates, authorities, info.at)) {
    throw new TimeStampError(`No given authority issued the certificate of the time stamp (${authority}).`)
  }
  return { at: info.at, authority }
}

/** Splits a token: ContentInfo, SignedData with one signer, TSTInfo. */
function signedInfo(token: Buffer) {
  const [type, wrapped] = membersOf(expectTag(readDer(token), DER.sequence))
  if (oidOf(type) !== OID.signedData) throw new TimeStampError('The token is no signed data.')
  const [signed] = membersOf(expectTag(wrapped, DER.first))
  const [, , encapsulated, ...rest] = membersOf(expectTag(signed, DER.sequence))
  const [contentType, wrappedContent] = membersOf(expectTag(encapsulated, DER.sequence))
  if (oidOf(contentType) !== OID.timeStampInfo) throw new TimeStampError('The token holds no time stamp.')
  const [octets] = membersOf(expectTag(wrappedContent, DER.first))
  const { content } = expectTag(octets, DER.octets)
  const certificateSet = rest.find(({ tag }) => tag === DER.first)
  const certificates = certificateSet === undefined ? [] : membersOf(certificateSet)
  if (certificates.length > MAX_CERTIFICATES) throw new TimeStampError('The token has too many certificates.')
  const signers = membersOf(expectTag(rest.at(-1), DER.set))
  const [signer] = signers
  // RFC 3161, section 2.4.2: exactly one signature.
  if (signer === undefined || signers.length !== 1) {
    throw new TimeStampError('The token does not have exactly one signature.')
  }
  return { info: timeStampInfo(content), content, certificates: certificates.map(certificateOf), signer }
}

function certificateOf({ bytes }: DerElement): X509Certificate {
  return new X509Certificate(bytes)
}

function timeStampInfo(content: Buffer) {
  const members = membersOf(expectTag(readDer(content), DER.sequence))
  const [, , messageImprint, , genTime, ...options] = members
  const [algorithm, imprint] = membersOf(expectTag(messageImprint, DER.sequence))
  const nonce = options.find(({ tag }) => tag === DER.integer)
  return {
    hash: oidOf(membersOf(expectTag(algorithm, DER.sequence))[0]),
    imprint: expectTag(imprint, DER.octets).content,
    at: timeOf(genTime),
    /** The whole INTEGER. */
    nonce: nonce?.bytes ?? null,
  }
}

/** Verifies the signature of SignerInfo over its signed attributes. Returns the certificate that they name. */
function verifySignature(
  content: Buffer,
  certificates: readonly X509Certificate[],
  signer: DerElement,
): X509Certificate {
  const [, , digestAlgorithm, attributes, signatureAlgorithm, signature] = membersOf(
    expectTag(signer, DER.sequence),
  )
  const digest = hashName(digestAlgorithm)
  const signed = expectTag(attributes, DER.first)
  const values = new Map(
    membersOf(signed).map((attribute) => {
      const [name, set] = membersOf(expectTag(attribute, DER.sequence))
      return [oidOf(name), membersOf(expectTag(set, DER.set))[0]]
    }),
  )
  const type = values.get(OID.contentType)
  const sum = expectTag(values.get(OID.messageDigest), DER.octets).content
  if (oidOf(type) !== OID.timeStampInfo || !sum.equals(createHash(digest).update(content).digest())) {
    throw new TimeStampError('The content of the time stamp is not what was signed.')
  }
  const certificate = certificates.find(namedBy(values))
  if (certificate === undefined) {
    throw new TimeStampError('The token does not have the certificate that its signature names.')
  }
  const algorithm = oidOf(membersOf(expectTag(signatureAlgorithm, DER.sequence))[0])
  // RFC 5652, section 5.4: the attributes are signed as a SET, not with their tag in the token.
  const text = Buffer.concat([Buffer.from([DER.set]), signed.bytes.subarray(1)])
  const { publicKey } = certificate
  const key: KeyLike | Parameters<typeof verify>[2] =
    algorithm === OID.pss
      ? {
          key: publicKey,
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_AUTO,
        }
      : publicKey
  const isEdwards = publicKey.asymmetricKeyType?.startsWith('ed') === true
  const hash = isEdwards ? null : (HASH_OF_SIGNATURE[algorithm] ?? digest)
  if (!verify(hash, text, key, expectTag(signature, DER.octets).content)) {
    throw new TimeStampError('The signature of the time stamp is wrong.')
  }
  return certificate
}

/** Returns a test of the certificate that the attribute `signingCertificate` or its second version names. */
function namedBy(values: ReadonlyMap<string, DerElement | undefined>): (one: X509Certificate) => boolean {
  const second = values.get(OID.signingCertificateV2)
  const attribute = second ?? values.get(OID.signingCertificate)
  const [list] = membersOf(expectTag(attribute, DER.sequence))
  const [first] = membersOf(expectTag(list, DER.sequence))
  const members = membersOf(expectTag(first, DER.sequence))
  const [algorithm] = members
  const named = algorithm?.tag === DER.sequence
  const hash = second === undefined ? 'sha1' : named ? hashName(algorithm) : 'sha256'
  const sum = expectTag(named ? members[1] : algorithm, DER.octets).content
  return ({ raw }) => createHash(hash).update(raw).digest().equals(sum)
}

function hashName(algorithm: DerElement | undefined): string {
  const oid = oidOf(membersOf(expectTag(algorithm, DER.sequence))[0])
  const name = HASHES[oid]
  if (name === undefined) throw new TimeStampError(`The hash algorithm ${oid} is not supported.`)
  return name
}

/** Returns whether one of the authorities is the certificate or issued it, through certificates of the token. */
function isIssued(
  certificate: X509Certificate,
  others: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  at: number,
): boolean {
  if (authorities.some(({ raw }) => raw.equals(certificate.raw))) return true
  const issued = (issuer: X509Certificate) =>
    issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)
  if (authorities.some(issued)) return true
  return others.some(
    (issuer) =>
      issued(issuer) &&
      isValidAt(issuer, at) &&
      // Each step leaves one certificate out, so that certificates that sign each other end.
      isIssued(
        issuer,
        others.filter((other) => other !== issuer),
        authorities,
        at,
      ),
  )
}

function isValidAt({ validFrom, validTo }: X509Certificate, at: number): boolean {
  return Date.parse(validFrom) <= at && at <= Date.parse(validTo)
}

/** Runs a reader of foreign bytes. Everything that it cannot read becomes a TimeStampError. */
function refusing<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof TimeStampError) throw error
    throw new TimeStampError(`The time stamp cannot be read: ${errorText(error)}.`)
  }
}
