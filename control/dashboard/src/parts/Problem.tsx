import { Alert, Button, CopyButton, Group, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Component, type ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { ParleyError } from '../../../../clients/typescript/errors.js'
import { PasskeyError } from './passkey.js'
import { useSentence } from './Word.js'

/** Codes whose text says all. */
const WHOLE: ReadonlySet<string> = new Set(['internal_error', 'rate_limited'])

type KnownCode = keyof typeof import('../messages/en.js').en.problem.codes

/**
 * Shows what the service refused, with the request to quote and what the user can do. `placed`: paths of fields whose reasons stand at
 * their inputs.
 */
export function Problem(props: {
  readonly error: Error
  readonly retry?: () => void
  readonly placed?: readonly string[]
}) {
  const { error, retry, placed = [] } = props
  const t = useTranslations()
  const sentence = useSentence()
  const refused = error instanceof ParleyError
  const [text, original] = refused
    ? said(error)
    : [t(error instanceof PasskeyError ? 'problem.passkey' : 'problem.offline'), null]
  /** The refusal in the language of the page, and the text of the service if that tells more. */
  function said({ code, message }: ParleyError): readonly [text: string, original: string | null] {
    const known = `problem.codes.${code as KnownCode}` as const
    const whole = WHOLE.has(code) || (code === 'validation_error' && issuesOf(error).length > 0)
    if (whole && t.has(known)) return [t(known), null]
    const own = sentence(message)
    // Most codes stand for many reasons, which only the text of the service tells.
    return own === message && !WHOLE.has(code) && code !== 'validation_error' && t.has(known)
      ? [t(known), message]
      : [own, null]
  }
  return (
    <Alert color="red" title={t('problem.title')} role="alert">
      <Stack gap="xs">
        <Text size="sm">{text}</Text>
        {original !== null && (
          <Text size="xs" lang="en">
            {original}
          </Text>
        )}
        {refused && error.status === 403 && <Text size="sm">{t('roleNote.forbidden')}</Text>}
        {refused &&
          issuesOf(error)
            .filter(({ path }) => !placed.includes(path))
            .map(({ path, reason }) => (
              <Text size="sm" key={`${path} ${reason}`}>
                {path}: {sentence(reason)}
              </Text>
            ))}
        <Group gap="sm">
          {retry !== undefined && (
            <Button size="xs" variant="default" onClick={retry}>
              {t('common.retry')}
            </Button>
          )}
          {refused && error.requestId !== null && (
            <>
              <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
                {t('common.requestId', { id: error.requestId })}
              </Text>
              {/* Pages that were loaded over plain HTTP have no clipboard. */}
              {'clipboard' in navigator && (
                <CopyButton value={error.requestId}>
                  {({ copied, copy }) => (
                    <Button size="compact-xs" variant="default" onClick={copy}>
                      {copied ? t('common.copied') : t('roleNote.copyRequest')}
                    </Button>
                  )}
                </CopyButton>
              )}
            </>
          )}
        </Group>
      </Stack>
    </Alert>
  )
}

/** A field that the service refused. The path is that of the request body: `tools[0].http.url`. */
export interface Issue {
  readonly path: string
  readonly reason: string
}

/** Returns the faulty fields that the service names. */
export function issuesOf(error: Error | null): readonly Issue[] {
  if (!(error instanceof ParleyError) || !Array.isArray(error.details.issues)) return []
  return error.details.issues.flatMap((issue: { readonly path?: unknown; readonly reason?: unknown }) =>
    typeof issue.path === 'string' ? [{ path: issue.path, reason: String(issue.reason ?? '') }] : [],
  )
}

/** Returns the faulty fields, and the one that a refusal of another kind is about. */
export function fieldsOf(error: Error | null): readonly Issue[] {
  const issues = issuesOf(error)
  if (issues.length > 0 || !(error instanceof ParleyError)) return issues
  const { path } = error.details
  return typeof path === 'string' ? [{ path, reason: error.message }] : []
}

export function Missing() {
  const t = useTranslations('problem')
  return (
    <main className="plain">
      <Title order={1}>{t('missing')}</Title>
      <Link to="/">{t('home')}</Link>
    </main>
  )
}

interface BoundaryProps {
  readonly fallback: ReactNode
  /** A failed part is drawn again when this changes. */
  readonly data?: unknown
  readonly children: ReactNode
}

/** Keeps a failed part from taking the page with it. */
export class Boundary extends Component<BoundaryProps, { readonly failed: boolean }> {
  override state = { failed: false }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override componentDidUpdate({ data }: BoundaryProps) {
    if (this.state.failed && data !== this.props.data) this.setState({ failed: false })
  }

  override render() {
    return this.state.failed ? this.props.fallback : this.props.children
  }
}

/** Draws one part of a page. If it fails, the others stay. */
export function Panel<T>(props: { readonly data: T; readonly draw: (data: T) => ReactNode }) {
  const t = useTranslations('problem')
  return (
    <Boundary fallback={<p role="alert">{t('crash')}</p>} data={props.data}>
      <Drawn {...props} />
    </Boundary>
  )
}

function Drawn<T>({ data, draw }: { readonly data: T; readonly draw: (data: T) => ReactNode }) {
  return draw(data)
}
