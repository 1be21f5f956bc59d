import { Alert, Button, CopyButton, Group, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Component, type ReactNode } from 'react'
import { useTranslations } from 'use-intl'
import { ParleyError } from '../../../../clients/typescript/errors.js'

type KnownCode = keyof typeof import('../messages/en.js').en.problem.codes

/** Shows what the service refused, with the request to quote and what the user can do. */
export function Problem({ error, retry }: { readonly error: Error; readonly retry?: () => void }) {
  const t = useTranslations()
  const refused = error instanceof ParleyError
  // Most codes stand for many reasons, which only the text of the service tells.
  const textOf = ({ code, message }: ParleyError): string =>
    t.has(`problem.codes.${code as KnownCode}`) ? t(`problem.codes.${code as KnownCode}`) : message
  return (
    <Alert color="red" title={t('problem.title')} role="alert">
      <Stack gap="xs">
        <Text size="sm">{refused ? textOf(error) : t('problem.offline')}</Text>
        {refused && error.status === 403 && <Text size="sm">{t('roleNote.forbidden')}</Text>}
        {refused &&
          issuesOf(error).map(({ path, reason }) => (
            <Text size="sm" key={`${path} ${reason}`}>
              {path}: {reason}
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
