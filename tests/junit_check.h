/* Does a well-formed XML text (markup_check.h) keep to what the readers of JUnit XML take? Knows nothing of who wrote
 * it. There is no standard; these are the elements and attributes that GitLab's unit test reports and GitHub's common
 * reporters (dorny/test-reporter, EnricoMi/publish-unit-test-result-action, mikepenz/action-junit-report) look at:
 *
 *   testsuites  holds testsuite alone
 *   testsuite   name; tests, failures, errors, skipped: how many there are; time: seconds as a decimal number; holds at
 *               most one properties, which comes first, then testcase
 *   property    name, value
 *   testcase    classname, name: not empty, and no two cases have both; time; file with line (from 1), or neither;
 * holds nothing (passed), or one failure, or one skipped failure     type, message: not empty; text skipped     message
 */
#ifndef TESTS_JUNIT_CHECK_H
#define TESTS_JUNIT_CHECK_H

/* NULL, or what is wrong and where, to be freed. */
char *junit_fault(const char *text);

#endif
