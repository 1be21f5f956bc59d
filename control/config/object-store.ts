import { resolve } from 'node:path'
import { httpUrl, invalid, type Parsed, valid } from './parsers.js'

export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

export interface S3Setting {
  readonly kind: 's3'
  readonly bucket: string
  /** Null uses Amazon's endpoint of the region. */
  readonly endpoint: string | null
  readonly region: string
  /** True puts the bucket into the path instead of the host name. */
  readonly pathStyle: boolean
  /** Null uses the other sources of the AWS SDK, for example the role of the machine. */
  readonly credentials: S3Credentials | null
}

/** Object store of recordings and documents. */
export type ObjectStoreSetting = { readonly kind: 'folder'; readonly path: string } | S3Setting

export const OBJECT_STORE_VARIABLES = [
  {
    name: 'PARLEY_OBJECT_STORE',
    default: 'folder:<data>/objects',
    description:
      'Where recordings and documents are kept: folder:<path> or s3://<bucket>?endpoint=<url>&region=<name>&pathStyle=<true or false>',
  },
  { name: 'AWS_ACCESS_KEY_ID', default: '', description: 'Access key of an s3:// store' },
  {
    name: 'AWS_SECRET_ACCESS_KEY',
    default: '',
    description: 'Secret of that key; without both, the AWS SDK looks for the role of the machine',
    secret: true,
  },
  { name: 'AWS_SESSION_TOKEN', default: '', description: 'Session token of a temporary key', secret: true },
] as const

/** Region of services that have none. Amazon's own needs the bucket's. */
const DEFAULT_REGION = 'us-east-1'
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const PARAMETERS = ['endpoint', 'region', 'pathStyle']

/**
 * Parses `folder:/srv/objects` or `s3://bucket?endpoint=https://s3.example.com`. `given` returns the value of
 * an environment variable. Without `pathStyle`, a bucket at a named endpoint is addressed by path.
 */
export function objectStore(
  base: string,
  given: (name: (typeof OBJECT_STORE_VARIABLES)[number]['name']) => string | null,
): (value: string) => Parsed<ObjectStoreSetting> {
  return (value) => {
    if (value.startsWith('folder:') && value.length > 'folder:'.length) {
      return valid({ kind: 'folder', path: resolve(base, value.slice('folder:'.length)) })
    }
    const fix = invalid('set folder:<path> or s3://<bucket>?endpoint=<url>&region=<name>')
    if (!value.startsWith('s3://') || !URL.canParse(value)) return fix
    const url = new URL(value)
    if (url.username !== '' || url.password !== '') {
      return invalid('set the credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
    }
    const names = [...url.searchParams.keys()]
    const known = names.every((name) => PARAMETERS.includes(name)) && new Set(names).size === names.length
    if (!BUCKET.test(url.host) || !['', '/'].includes(url.pathname) || url.hash !== '' || !known) return fix
    const endpoint = url.searchParams.get('endpoint')
    if (endpoint !== null && !httpUrl(endpoint).ok) {
      return invalid('set an http:// or https:// address without query as endpoint')
    }
    const style = url.searchParams.get('pathStyle') ?? String(endpoint !== null)
    const region = url.searchParams.get('region') ?? DEFAULT_REGION
    if (!/^(?:true|false)$/.test(style) || !/^[\w-]{1,64}$/.test(region)) return fix
    const accessKeyId = given('AWS_ACCESS_KEY_ID')
    const secretAccessKey = given('AWS_SECRET_ACCESS_KEY')
    const sessionToken = given('AWS_SESSION_TOKEN')
    if ((accessKeyId === null) !== (secretAccessKey === null)) {
      return invalid('set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither')
    }
    return valid({
      kind: 's3',
      bucket: url.host,
      endpoint,
      region,
      pathStyle: style === 'true',
      credentials:
        accessKeyId === null || secretAccessKey === null
          ? null
          : { accessKeyId, secretAccessKey, ...(sessionToken === null ? {} : { sessionToken }) },
    })
  }
}
