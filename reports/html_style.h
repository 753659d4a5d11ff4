/* The style of the page that --html writes. */
#ifndef REPORTS_HTML_STYLE_H
#define REPORTS_HTML_STYLE_H

extern const char html_style[];

#endif
